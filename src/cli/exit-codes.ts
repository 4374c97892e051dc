/** What scripts may rely on; the README and `docs/operate` list the same table. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  missingPart: 3,
  cannotBind: 4,
  remoteFailed: 5,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
