/** Makes a distinct type out of a plain one, so that an account's id is never handed in where a key's is asked for. */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name }
