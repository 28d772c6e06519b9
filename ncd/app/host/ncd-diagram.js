// <ncd-diagram system="multi-head-attention" h="8"></ncd-diagram>: a diagram of a server, or of a
// folder that `ncd site` has written, in any page. Every other attribute is a setting of the page; `base` is the
// address of the explorer, by default that of this script, and `files` says that it is a folder.

(() => {
const HOME = new URL(".", document.currentScript?.src || document.baseURI).href;
const OWN = new Set(["system", "base", "files", "title", "style", "class", "id", "slot"]);

class Diagram extends HTMLElement {
  connectedCallback() {
    this.frame = document.createElement("iframe");
    this.frame.loading = "lazy";
    this.frame.style.cssText = "width:100%;height:100%;min-height:320px;border:0;display:block";
    this.attachShadow({ mode: "open" }).append(this.frame);
    if (!this.style.display) this.style.display = "block";
    this.hear = ({ source, data }) => {
      if (source === this.frame.contentWindow && data?.ncd === "height" && data.height > 0)
        Object.assign(this.frame.style, { height: `${Math.min(data.height, 4000)}px`, minHeight: 0 });
    };
    addEventListener("message", this.hear);
    this.watch = new MutationObserver(() => this.show());
    this.watch.observe(this, { attributes: true });
    this.show();
  }

  disconnectedCallback() {
    removeEventListener("message", this.hear);
    this.watch.disconnect();
  }

  show() {
    const system = this.getAttribute("system") ?? "multi-head-attention";
    const base = this.getAttribute("base") ?? HOME;
    const path = this.hasAttribute("files") ? `${system}/index.html?embed` : `embed/${system}`;
    const address = new URL(path, new URL(base.replace(/\/?$/, "/"), document.baseURI));
    for (const { name, value } of this.attributes)
      if (!OWN.has(name) && !name.startsWith("data-")) address.searchParams.set(name, value);
    this.frame.title = this.title || `Diagram of ${system}`;
    if (this.frame.src !== address.href) this.frame.src = address.href;
  }
}

if (!customElements.get("ncd-diagram")) customElements.define("ncd-diagram", Diagram);
})();
