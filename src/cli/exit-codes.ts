/** What scripts may rely on; `docs/operate/running.md` lists the same table. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  missingPart: 3,
  /** Only of `status`, which needs no optional part. Service managers use 3 for a stopped service. */
  notRunning: 3,
  cannotBind: 4,
  remoteFailed: 5,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
