import type { Plugin } from "vite";

/** Answers /api during development when no server is given. */
export function mockServer(): Plugin {
  return { name: "sightline-mock" };
}
