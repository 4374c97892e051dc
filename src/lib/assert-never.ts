/** The default arm of a switch over one of our own unions: the compiler proves that it cannot be reached. */
export function assertNever(value: never): never {
  throw new Error(`Unreachable case: ${JSON.stringify(value)}`)
}
