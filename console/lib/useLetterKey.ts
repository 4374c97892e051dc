import { useEffect, useRef } from 'react'
import { addLetterKey, type KeyGroup } from './letter-keys.ts'

/** A key of this page or part, for as long as it is shown: `useLetterKey('n', words.keys.create, openDialog)`. */
export function useLetterKey(keys: string, label: string, run: () => void, group: KeyGroup = 'onThisPage'): void {
  const latest = useRef(run)
  useEffect(() => {
    latest.current = run
  })
  useEffect(() => addLetterKey({ keys, label, group, run: () => latest.current() }), [keys, label, group])
}
