import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { MenuIcon, Search, X } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { partLost } from '../lib/console-problem.ts'
import {
  addLetterKey,
  type KeyGroup,
  type LetterKey,
  letterKeys,
  onLetterKeys,
  pressLetterKey,
} from '../lib/letter-keys.ts'
import { usePreferences } from '../lib/preferences.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { useSession } from '../queries/session.ts'
import { IconButton } from '../ui/Button.tsx'
import { Dialog, Modal } from '../ui/Dialog.tsx'
import { Mark } from '../ui/Mark.tsx'
import { AccountMenu } from './AccountMenu.tsx'
import { ConfirmPassword, cancelPasswordPrompt } from './ConfirmPassword.tsx'
import { Navigation } from './Navigation.tsx'
import { NoticeBell } from './NoticeBell.tsx'
import { accountNavItems, operatorNavItems } from './nav-items.ts'

/** Loaded when it is first opened. */
const CommandPalette = lazy(async () => {
  const { CommandPalette: palette } = await import('./CommandPalette.tsx').catch(() => {
    throw partLost()
  })
  return { default: palette }
})

export function Shell() {
  const { shell } = useMessages()
  const [open, setOpen] = useState<'palette' | 'shortcuts' | 'drawer' | undefined>()
  const close = () => setOpen(undefined)
  useShellKeys({ onPalette: () => setOpen('palette'), onHelp: () => setOpen('shortcuts') })
  const main = useArrival(() => {
    close()
    cancelPasswordPrompt()
  })

  return (
    <div className="min-h-dvh md:grid md:grid-cols-[15rem_minmax(0,1fr)] print:block">
      <a
        href="#content"
        className="fixed start-3 top-3 z-50 -translate-y-20 rounded-md bg-accent px-3 py-1.5 font-medium text-on-accent focus:translate-y-0"
      >
        {shell.skip}
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col gap-3 border-e border-line bg-sunken/50 p-3 md:flex print:hidden">
        <div className="flex items-center justify-between">
          <Brand />
          <NoticeBell />
        </div>
        <PaletteButton onOpen={() => setOpen('palette')} />
        <div className="-mx-1 min-h-0 flex-1 overflow-y-auto px-1">
          <Navigation />
        </div>
        <AccountMenu />
      </aside>
      <header className="sticky top-0 z-30 flex items-center justify-between border-b border-line bg-paper/95 px-3 py-1.5 backdrop-blur md:hidden print:hidden">
        <Brand />
        <span className="flex gap-1">
          <NoticeBell />
          <IconButton icon={Search} label={shell.palette.open} onClick={() => setOpen('palette')} />
          <IconButton icon={MenuIcon} label={shell.openMenu} onClick={() => setOpen('drawer')} />
        </span>
      </header>
      <main
        id="content"
        ref={main}
        tabIndex={-1}
        className="mx-auto w-full max-w-6xl min-w-0 px-4 py-5 sm:px-6 md:py-8 lg:px-10"
      >
        <Outlet />
      </main>
      {open === 'drawer' && <Drawer onClose={close} />}
      {open === 'palette' && (
        <Suspense fallback={null}>
          <CommandPalette open onClose={close} onHelp={() => setOpen('shortcuts')} />
        </Suspense>
      )}
      <ConfirmPassword />
      <ShortcutList open={open === 'shortcuts'} onClose={close} />
    </div>
  )
}

function Drawer({ onClose }: { onClose: () => void }) {
  const { shell } = useMessages()
  return (
    <Modal
      aria-label={shell.menu}
      onClose={onClose}
      className="rise ms-0 me-auto my-0 h-dvh max-h-none w-72 max-w-[85vw] overflow-y-auto overscroll-contain border-e border-line bg-paper p-0"
    >
      <div className="flex min-h-full flex-col gap-4 p-3">
        <div className="flex items-center justify-between">
          <Brand />
          <IconButton icon={X} label={shell.closeMenu} onClick={onClose} />
        </div>
        <div className="flex-1">
          <Navigation onGo={onClose} />
        </div>
        <AccountMenu />
      </div>
    </Modal>
  )
}

function Brand() {
  const { common } = useMessages()
  return (
    <span className="flex items-center gap-2 px-1.5 py-1">
      <Mark />
      <span className="text-lg font-semibold tracking-tight">{common.product}</span>
    </span>
  )
}

function PaletteButton({ onOpen }: { onOpen: () => void }) {
  const { shell } = useMessages()
  const isApple = /Mac|iP(hone|ad|od)/.test(navigator.userAgent)
  return (
    <button
      type="button"
      onClick={onOpen}
      className="flex min-h-8 items-center gap-2 rounded-md border border-line bg-surface px-2.5 text-sm text-faint transition-colors hover:border-edge hover:text-ink"
    >
      <Search aria-hidden="true" className="size-4" />
      <span className="flex-1 text-start">{shell.palette.open}</span>
      <kbd className="text-xs">{isApple ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  )
}

/** Resets focus, scroll position and dialogs on navigation. */
function useArrival(onArrival: () => void) {
  const main = useRef<HTMLElement>(null)
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const before = useRef(path)
  const latest = useRef(onArrival)
  useEffect(() => {
    latest.current = onArrival
  })
  useEffect(() => {
    if (before.current !== undefined && before.current !== path) {
      latest.current()
      main.current?.focus({ preventScroll: true })
    }
    before.current = path
  }, [path])
  return main
}

const GROUPS: readonly KeyGroup[] = ['anywhere', 'onThisPage', 'inTables', 'goTo']

/** The shortcuts that are active now. */
function ShortcutList({ open, onClose }: { open: boolean; onClose: () => void }) {
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

interface ShellKeys {
  readonly onPalette: () => void
  readonly onHelp: () => void
}

function useShellKeys(handlers: ShellKeys): void {
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
    const { shortcuts, pageTitles } = shell
    const keys: LetterKey[] = [
      { keys: '?', label: shortcuts.help, group: 'anywhere', run: () => latest.current.onHelp() },
      { keys: 'j', label: shortcuts.next, group: 'inTables', run: () => moveRow(1) },
      { keys: 'k', label: shortcuts.previous, group: 'inTables', run: () => moveRow(-1) },
    ]
    for (const { id, to, letter } of [...accountNavItems(person), ...operatorNavItems(person)]) {
      if (letter === undefined) continue
      keys.push({ keys: `g ${letter}`, label: pageTitles[id], group: 'goTo', run: () => void navigate({ to }) })
    }
    const removers = keys.map(addLetterKey)
    return () => {
      for (const remove of removers) remove()
    }
  }, [shell, person, navigate])
}

function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const here = rows.findIndex((row) => row.contains(document.activeElement))
  const next = here === -1 ? rows.at(by === 1 ? 0 : -1) : rows[here + by]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
