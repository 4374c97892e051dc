import { useSyncExternalStore } from 'react'
import { type KeyGroup, letterKeys, onLetterKeys } from '../lib/letter-keys.ts'
import { usePreferences } from '../lib/preferences.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { useMessages } from '../messages/MessagesProvider.tsx'

const GROUPS: readonly KeyGroup[] = ['anywhere', 'onThisPage', 'inTables', 'goTo']

/** What `?` shows: the keys that mean something now. */
export function ShortcutList({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { shell } = useMessages()
  const { letterKeys: on } = usePreferences()
  const known = useSyncExternalStore(onLetterKeys, letterKeys)
  const { shortcuts } = shell
  const always = [
    { keys: 'Ctrl K', label: shortcuts.palette, group: 'anywhere' },
    { keys: 'Esc', label: shortcuts.close, group: 'anywhere' },
    { keys: 'Enter', label: shortcuts.open, group: 'inTables' },
  ]
  const rows = [...always, ...known]
  return (
    <Dialog title={shortcuts.title} open={open} onClose={onClose} width="wide">
      {!on && <p className="rounded-md bg-held-wash px-3 py-2 text-held">{shortcuts.off}</p>}
      <div className="gap-8 sm:columns-2">
        {GROUPS.map((group) => ({ group, keys: rows.filter((row) => row.group === group) }))
          .filter(({ keys }) => keys.length > 0)
          .map(({ group, keys }) => (
            <section key={group} className="mb-5 break-inside-avoid">
              <h3 className="eyebrow mb-1">{shortcuts[group]}</h3>
              <dl className="grid gap-1">
                {keys.map((key) => (
                  <div key={key.keys} className="flex items-center justify-between gap-4">
                    <dt>{key.label}</dt>
                    <dd className="flex gap-1">
                      {key.keys.split(' ').map((each) => (
                        <kbd
                          key={each}
                          className="min-w-6 rounded border border-line bg-sunken px-1.5 text-center text-xs leading-5"
                        >
                          {each}
                        </kbd>
                      ))}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
      </div>
    </Dialog>
  )
}
