/** A piece of a file replaced by another; it must be there exactly once. */
export interface Replacement {
  readonly file: string
  readonly find: string
  readonly put: string
}

export function copyDist(dist?: string, replacements?: readonly Replacement[]): { readonly dist: string; clear(): void }
