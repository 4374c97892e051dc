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
let held = false
const listeners = new Set<() => void>()

function change(next: readonly ShownToast[]) {
  shown = next
  for (const listener of listeners) listener()
}

/** Shows a toast. Errors stay until they are dismissed. */
export function toast(next: Toast): void {
  count += 1
  const id = count
  change([...shown, { id, toast: next }].slice(-SHOWN_MAX))
  if (next.tone !== 'bad') goLater(id)
}

const goLater = (id: number) => setTimeout(() => (held ? goLater(id) : dismissToast(id)), GOES_AFTER_MS)

/** Toasts stay while the pointer or the focus is on them. */
export function holdToasts(isRead: boolean): void {
  held = isRead
}

/** A removed toast ends the hover without an event. */
export function dismissToast(id: number): void {
  held = false
  change(shown.filter((each) => each.id !== id))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const shownToasts = (): readonly ShownToast[] => shown

export const useToasts = (): readonly ShownToast[] => useSyncExternalStore(subscribe, shownToasts)
