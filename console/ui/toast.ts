import { useSyncExternalStore } from 'react'
import type { ConsoleProblem } from '../lib/console-problem.ts'

export type Toast =
  | { readonly tone: 'good' | 'plain'; readonly text: string }
  | { readonly tone: 'bad'; readonly problem: ConsoleProblem }

export interface ShownToast {
  readonly id: number
  readonly toast: Toast
}

const SHOWN_MAX = 4
const GOES_AFTER_MS = 6_000

let shown: readonly ShownToast[] = []
let count = 0
const listeners = new Set<() => void>()

function change(next: readonly ShownToast[]) {
  shown = next
  for (const listener of listeners) listener()
}

/** Says something without being in the way. What went wrong stays until somebody has read it. */
export function toast(said: Toast): void {
  count += 1
  const id = count
  change([...shown, { id, toast: said }].slice(-SHOWN_MAX))
  if (said.tone !== 'bad') setTimeout(() => dismissToast(id), GOES_AFTER_MS)
}

export const dismissToast = (id: number): void => change(shown.filter((each) => each.id !== id))

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useToasts = (): readonly ShownToast[] => useSyncExternalStore(subscribe, () => shown)
