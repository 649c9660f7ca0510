// Pages opened from a folder may not start workers: this runs the search's in a frame of the page.
window.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inner = (this.inner = frame.contentWindow);
    const load = source =>
      new Promise((resolve, reject) => {
        const script = inner.document.createElement("script");
        Object.assign(script, { src: source, onload: resolve, onerror: reject });
        inner.document.body.append(script);
      });
    inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
    inner.importScripts = (...sources) =>
      sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
    this.ready = load(new URL(url, location).href);
  }

  postMessage(data) {
    this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })));
  }

  terminate() {}
};
if (location.protocol === "file:") window.Worker = window.IFrameWorker;
