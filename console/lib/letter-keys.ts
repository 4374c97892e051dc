import { useEffect, useRef } from 'react'
import { preferences } from './preferences.ts'

export type KeyGroup = 'anywhere' | 'goTo' | 'inTables' | 'onThisPage'

export interface LetterKey {
  /** One key (`n`, `?`) or a chord (`g k`). */
  readonly keys: string
  readonly label: string
  readonly group: KeyGroup
  readonly run: () => void
}

/** Time allowed between the two keys of a chord. */
const CHORD_MS = 1_200

let known: readonly LetterKey[] = []
let waiting: { first: string; until: number } | undefined
const listeners = new Set<() => void>()

function change(next: readonly LetterKey[]) {
  known = next
  for (const listener of listeners) listener()
}

/** Adds a shortcut and returns a function that removes it. The newest one wins. */
export function addLetterKey(key: LetterKey): () => void {
  change([...known, key])
  return () => change(known.filter((each) => each !== key))
}

export const letterKeys = (): readonly LetterKey[] => known

export function onLetterKeys(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const EDITABLE = 'input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable=true]'

/** Text fields, dialogs and menus keep their letter keys. */
function isTaken({ target, ctrlKey, metaKey, altKey, defaultPrevented }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || defaultPrevented || !preferences().letterKeys) return true
  if (target instanceof Element && target.closest(`${EDITABLE}, [role=menu], [role=listbox]`) !== null) return true
  return document.querySelector('dialog[open]') !== null
}

export function pressLetterKey(event: KeyboardEvent): void {
  if (event.key.length !== 1 || isTaken(event)) return
  const chord = waiting !== undefined && event.timeStamp < waiting.until ? `${waiting.first} ${event.key}` : event.key
  waiting = undefined
  const found = known.findLast(({ keys }) => keys === chord)
  if (found !== undefined) {
    event.preventDefault()
    found.run()
  } else if (known.some(({ keys }) => keys.startsWith(`${event.key} `))) {
    waiting = { first: event.key, until: event.timeStamp + CHORD_MS }
  }
}

/** A shortcut of the mounted component: `useLetterKey('n', messages.keys.create, openDialog)`; without `run` none. */
export function useLetterKey(
  keys: string,
  label: string,
  run: (() => void) | undefined,
  group: KeyGroup = 'onThisPage',
): void {
  const latest = useRef(run)
  useEffect(() => {
    latest.current = run
  })
  const isOn = run !== undefined
  useEffect(
    () => (isOn ? addLetterKey({ keys, label, group, run: () => latest.current?.() }) : undefined),
    [keys, label, group, isOn],
  )
}
