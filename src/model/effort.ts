import type { Brand } from '../lib/brand.ts'

/** How hard a model shall think. An open set: a catalogue lists what its model knows. */
export type Effort = Brand<string, 'effort'>

/** Compared after lower-casing only: `minimal` and `low`, or `max` and `xhigh`, are different words and stay so. */
export const effortOf = (word: string): Effort => word.toLowerCase() as Effort
