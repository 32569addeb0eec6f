// Line icons, 16 × 16, in the colour of the text.
const paths = {
  now: "M1.5 9h3l1.8-5 3 8 1.9-5h3.3",
  hardware: "M4.5 4.5h7v7h-7zM6.5 1.5v3M9.5 1.5v3M6.5 11.5v3M9.5 11.5v3M1.5 6.5h3M1.5 9.5h3M11.5 6.5h3M11.5 9.5h3",
  explore: "M2.5 4l4 4-4 4M8 12.5h5.5",
  status: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM5.3 8.2l1.9 1.9 3.6-4",
  model: "M8 1.8l5.5 3v6.4L8 14.2l-5.5-3V4.8zM2.5 4.8L8 7.9l5.5-3.1M8 7.9v6.3",
  bell: "M3.5 11.5h9c-1-1-1.2-2-1.2-4.2C11.3 5 10 3.5 8 3.5S4.7 5 4.7 7.3c0 2.2-.2 3.2-1.2 4.2zM6.7 13.5h2.6M8 3.5v-1.3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3.5 3.5",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.4 1.5",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.5 8z",
  theme: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12A6 6 0 0 0 8 2z",
  link: "M6.5 9.5l3-3M7 4.8l1.6-1.6a2.8 2.8 0 0 1 4 4L11 8.8M9 11.2l-1.6 1.6a2.8 2.8 0 0 1-4-4L5 7.2",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3.5v9M3.5 8h9",
  keys: "M1.5 4.5h13v7h-13zM4 7h.01M6.7 7h.01M9.3 7h.01M12 7h.01M5 9.3h6",
  preferences: "M2 4.5h6M11.5 4.5H14M9.7 6.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM2 11.5h2.5M8 11.5h6M6.3 13.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4z",
  language: "M2 3.5h7M5.5 2v1.5M8 3.5C7.3 6.5 5 8.6 2.3 9.6M3.3 5.5c.8 1.8 2.6 3.2 4.6 3.9M8 14l3-7.5L14 14M9 11.7h4",
  chevron: "M4.5 6.5L8 10l3.5-3.5",
} as const;

export type IconName = keyof typeof paths;

export function Icon(p: { name: IconName; className?: string }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden className={p.className ?? "size-4 shrink-0"} fill={p.name === "play" ? "currentColor" : "none"} stroke="currentColor" strokeWidth="1.3" strokeLinecap="round" strokeLinejoin="round">
      <path d={paths[p.name]} />
      {p.name === "theme" && <path d="M8 2v12A6 6 0 0 0 8 2z" fill="currentColor" stroke="none" />}
    </svg>
  );
}
