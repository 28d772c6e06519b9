// The numbers that torch draws from a seed on a CPU: the generator MT19937, standard normal numbers
// in pairs by Box and Muller, uniform ones of 24 bits, and whole numbers as remainders.

function twister(seed) {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let at = 624;
  return () => {
    if (at === 624) {
      for (let i = 0; i < 624; i++) {
        const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
}

export function normals(seed, count) {
  const next = twister(seed);
  const found = new Float32Array(count);
  if (count < 16) return few(next, found);
  const uniform = () => (next() & 0xffffff) / 2 ** 24;
  for (let i = 0; i < count; i++) found[i] = uniform();
  for (let i = 0; i + 16 <= count; i += 16) pairs(found, i);
  if (count % 16) {
    for (let i = count - 16; i < count; i++) found[i] = uniform();
    pairs(found, count - 16);
  }
  return found;
}

// Turns 16 numbers between 0 and 1 into normal ones.
function pairs(found, start) {
  for (let i = start; i < start + 8; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - found[i]));
    const angle = 2 * Math.PI * found[i + 8];
    found[i] = radius * Math.cos(angle);
    found[i + 8] = radius * Math.sin(angle);
  }
}

// Arrays of fewer than 16 numbers are drawn in double precision.
function few(next, found) {
  const uniform = () => {
    const high = next() & 0x1fffff;
    return (high * 2 ** 32 + next()) / 2 ** 53;
  };
  for (let i = 0; i < found.length; i += 2) {
    const angle = 2 * Math.PI * uniform();
    const radius = Math.sqrt(-2 * Math.log1p(-uniform()));
    found[i] = radius * Math.cos(angle);
    if (i + 1 < found.length) found[i + 1] = radius * Math.sin(angle);
  }
  return found;
}

// Numbers from -1 to 1.
export function uniforms(seed, count) {
  const next = twister(seed);
  const found = new Float32Array(count);
  for (let i = 0; i < count; i++) found[i] = ((next() & 0xffffff) / 2 ** 24) * 2 - 1;
  return found;
}

export function wholes(seed, count, below) {
  const next = twister(seed);
  return BigInt64Array.from({ length: count }, () => BigInt(next() % below));
}
