/** An unchecked JSON object. */
export type Fields = Record<string, unknown>

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The default arm of a switch over one of our own unions: the compiler proves that it cannot be reached. */
export function assertNever(value: never): never {
  throw new Error(`Unreachable case: ${JSON.stringify(value)}`)
}

/** A distinct type of a plain one, so that an account's id cannot be passed as a key's id. */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name }
