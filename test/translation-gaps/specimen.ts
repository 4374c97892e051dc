/** One thing that a client can ask for: a request with it, and the same without. */
export interface Specimen {
  /** As the page calls it. */
  readonly what: string
  readonly without: object
  readonly with: object
}

export const asked = (what: string, without: object, withIt: object): Specimen => ({ what, without, with: withIt })

/** The top-level field that a thing is in. */
export const fieldsOf = ({ without, with: withIt }: Specimen): string[] => {
  const [before, after] = [without as Record<string, unknown>, withIt as Record<string, unknown>]
  return Object.keys(after).filter((name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]))
}
