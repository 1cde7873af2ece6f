// The theme searches in a worker, and browsers refuse workers to pages that are opened as files. There the same script runs
// in a hidden frame. The theme looks for the name IFrameWorker to find what that script loads.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.inside = new Promise((resolve) => {
        const fill = () => {
          const { contentWindow, contentDocument } = frame;
          contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = contentDocument.createElement("script");
          script.src = new URL(url, document.baseURI).href;
          script.addEventListener("load", () => resolve(contentWindow));
          contentDocument.body.append(script);
        };
        // Some browsers put an empty page into the frame only after a while.
        frame.addEventListener("load", fill, { once: true });
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
