/** How long somebody is asked to wait: never less than it takes, and never none at all. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))
