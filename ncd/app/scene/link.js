// Writes a link of the server to the address.

import { keepLink } from "./url.js";

export default ({ data }) => keepLink(data);
