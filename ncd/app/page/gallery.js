// The gallery in the app.

import { gallery } from "../../site/static/gallery.js";

export default gallery;
