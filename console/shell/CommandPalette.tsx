import { useNavigate } from '@tanstack/react-router'
import { CornerDownLeft, Keyboard, LogOut, type LucideIcon, Moon, ReceiptText, Settings, Sun } from 'lucide-react'
import { type KeyboardEvent, useId, useState } from 'react'
import { cx } from '../lib/cx.ts'
import { prefer } from '../lib/preferences.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { may, useSession } from '../queries/session.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { Form } from '../ui/Form.tsx'
import { controlClass } from '../ui/inputs.tsx'
import { useSignOut } from './AccountMenu.tsx'
import { AUDIT_NAV_ITEM, accountNavItems, operatorNavItems } from './nav-items.ts'

interface Command {
  readonly id: string
  readonly label: string
  readonly icon: LucideIcon
  readonly run: () => void
}

interface CommandPaletteProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly onHelp: () => void
}

export function CommandPalette(props: CommandPaletteProps) {
  const { shell } = useMessages()
  return (
    <Dialog title={shell.palette.open} open={props.open} onClose={props.onClose}>
      <Palette {...props} />
    </Dialog>
  )
}

function Palette({ onClose, onHelp }: CommandPaletteProps) {
  const { shell } = useMessages()
  const id = useId()
  const [typed, setTyped] = useState('')
  const [picked, setPicked] = useState(0)
  const commands = useCommands(typed.trim(), onHelp)
  const at = Math.min(picked, Math.max(0, commands.length - 1))
  const run = (command: Command | undefined) => {
    if (command === undefined) return
    onClose()
    command.run()
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 || commands.length === 0) return
    event.preventDefault()
    setPicked((at + step + commands.length) % commands.length)
  }
  return (
    <Form className="grid gap-2" onSend={() => run(commands[at])}>
      <input
        data-autofocus
        type="text"
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-label={shell.palette.label}
        placeholder={shell.palette.label}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={commands.length > 0 ? `${id}-${at}` : undefined}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value)
          setPicked(0)
        }}
        onKeyDown={press}
        className={controlClass}
      />
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label={shell.palette.label}
        tabIndex={-1}
        className="grid max-h-80 gap-0.5 overflow-y-auto"
      >
        {commands.map(({ id: command, label, icon: Icon }, index) => (
          // The field above handles the keyboard. The buttons are for the pointer.
          <button
            key={command}
            type="button"
            tabIndex={-1}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            ref={(element) => {
              if (index === at) element?.scrollIntoView({ block: 'nearest' })
            }}
            onClick={() => run(commands[index])}
            className={cx(
              'flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-start',
              index === at ? 'bg-accent-wash text-accent' : 'hover:bg-hover',
            )}
          >
            <Icon aria-hidden="true" className="size-4 shrink-0" />
            <span className="min-w-0 flex-1 truncate">{label}</span>
            {index === at && <CornerDownLeft aria-hidden="true" className="size-3.5" />}
          </button>
        ))}
      </div>
      {commands.length === 0 && <p className="px-2.5 py-3 text-faint">{shell.palette.nothing}</p>}
    </Form>
  )
}

function useCommands(typed: string, onHelp: () => void): Command[] {
  const { person } = useSession()
  const { shell } = useMessages()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const own = accountNavItems(person)
  const items = [...own, ...(may(person, 'viewer') ? [AUDIT_NAV_ITEM] : []), ...operatorNavItems(person)]
  const all: Command[] = [
    ...items.map(({ id, to, icon }) => ({ id, label: shell.pageTitles[id], icon, run: () => void navigate({ to }) })),
    { id: 'settings', label: shell.pageTitles.settings, icon: Settings, run: () => void navigate({ to: '/settings' }) },
    { id: 'light', label: `${shell.theme}: ${shell.themes.light}`, icon: Sun, run: () => prefer({ theme: 'light' }) },
    { id: 'dark', label: `${shell.theme}: ${shell.themes.dark}`, icon: Moon, run: () => prefer({ theme: 'dark' }) },
    { id: 'help', label: shell.shortcuts.title, icon: Keyboard, run: onHelp },
    { id: 'out', label: shell.signOut, icon: LogOut, run: signOut },
  ]
  if (/^req_\w+$/.test(typed)) {
    const base = own.length > 0 ? '/requests' : '/operate/requests'
    return [
      {
        id: 'request',
        label: shell.palette.request(typed),
        icon: ReceiptText,
        run: () => void navigate({ to: `${base}/${typed}` }),
      },
    ]
  }
  const terms = typed.toLowerCase().split(/\s+/)
  return all.filter(({ label }) => terms.every((term) => label.toLowerCase().includes(term)))
}
