/** One fact as the operator's list has it and as the snapshot has it. Null: nothing is said of it there. */
export interface FactView {
  readonly name: string
  readonly list: FactValue | null
  readonly snapshot: FactValue | null
  readonly differs: boolean
  /** What follows from the difference, in words. */
  readonly note: string | null
  /** Sold below what the provider takes for it. */
  readonly loss: boolean
}

export type FactValue = string | number | readonly string[]
