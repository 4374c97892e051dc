import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { addLetterKey, type LetterKey, pressLetterKey } from '../lib/letter-keys.ts'
import { useSession } from '../queries/session.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { operatorAreas, ownerAreas } from './areas.ts'

interface ShellKeys {
  readonly onPalette: () => void
  readonly onHelp: () => void
}

/** The keys that work on every page. */
export function useShellKeys(handlers: ShellKeys): void {
  const { person } = useSession()
  const { shell } = useMessages()
  const navigate = useNavigate()
  const latest = useRef(handlers)
  useEffect(() => {
    latest.current = handlers
  })

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey
      if (!isPalette) return pressLetterKey(event)
      if (document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      latest.current.onPalette()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])

  useEffect(() => {
    const { shortcuts, areas } = shell
    const keys: LetterKey[] = [
      { keys: '?', label: shortcuts.help, group: 'anywhere', run: () => latest.current.onHelp() },
      { keys: 'j', label: shortcuts.next, group: 'inTables', run: () => moveRow(1) },
      { keys: 'k', label: shortcuts.previous, group: 'inTables', run: () => moveRow(-1) },
    ]
    for (const { id, to, letter } of [...ownerAreas(person), ...operatorAreas(person)]) {
      if (letter === undefined) continue
      keys.push({ keys: `g ${letter}`, label: areas[id], group: 'goTo', run: () => void navigate({ to }) })
    }
    const removers = keys.map(addLetterKey)
    return () => {
      for (const remove of removers) remove()
    }
  }, [shell, person, navigate])
}

/** From row to row through whatever tables the page has. */
function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const here = rows.findIndex((row) => row.contains(document.activeElement))
  const next = here === -1 ? rows.at(by === 1 ? 0 : -1) : rows[here + by]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
