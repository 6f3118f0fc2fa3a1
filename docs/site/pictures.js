/* Draws the pictures of a page with mermaid, and again when the reader switches between light and dark. */
(function () {
    const root = document.documentElement;
    const texts = new Map();

    function isDark() {
        if (root.classList.contains("dark-mode")) return true;
        if (root.classList.contains("light-mode")) return false;
        return matchMedia("(prefers-color-scheme: dark)").matches;
    }

    let drawn;
    function draw() {
        if (drawn === isDark()) return;
        drawn = isDark();
        for (const [picture, text] of texts) {
            picture.removeAttribute("data-processed");
            picture.textContent = text;
        }
        mermaid.initialize({
            startOnLoad: false,
            theme: drawn ? "dark" : "neutral",
            flowchart: { wrappingWidth: 320 },
        });
        mermaid.run();
    }

    document.addEventListener("DOMContentLoaded", () => {
        for (const picture of document.querySelectorAll("pre.mermaid"))
            texts.set(picture, picture.textContent);
        draw();
        new MutationObserver(draw).observe(root, { attributeFilter: ["class"] });
    });
})();
