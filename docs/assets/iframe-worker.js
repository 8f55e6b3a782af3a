// The search runs in a worker, which browsers refuse to pages that are opened from a folder. There, a
// hidden frame takes the place of the worker: it loads the same script and passes messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(each)));
      this.ready = this.load(url);
    }
    load(url) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = done;
        script.onerror = failed;
        this.frame.contentDocument.body.append(script);
      });
    }
    postMessage(data) {
      const inner = this.frame.contentWindow;
      this.ready.then(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
