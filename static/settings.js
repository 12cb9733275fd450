// On a phone the sections are one line that scrolls: the current one shall be in sight.
document.querySelector(".side [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
