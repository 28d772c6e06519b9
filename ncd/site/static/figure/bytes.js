// Numbers that come as text.

export const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
export const floats = (text) => new Float32Array(bytes(text).buffer);
