import type { Brand } from '../lib/brand.ts'

/** How hard a model shall think. An open set: the words below are the ones seen on the wire, a catalogue may list more. */
export type Effort = Brand<string, 'effort'>

export const EFFORT_WORDS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** Compared after lower-casing only: `minimal` and `low`, or `max` and `xhigh`, are different words and stay so. */
export const effortOf = (word: string): Effort => word.toLowerCase() as Effort
