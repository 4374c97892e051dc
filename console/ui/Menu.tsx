import type { LucideIcon } from 'lucide-react'
import {
  cloneElement,
  createContext,
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
  useContext,
  useId,
} from 'react'
import { cx } from '../lib/cx.ts'
import { ringStep } from '../lib/ring-step.ts'
import { type TriggerProps, usePopover } from './usePopover.ts'

interface MenuTriggerProps extends TriggerProps {
  readonly onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void
}

interface MenuProps {
  /** A button; it opens the menu. */
  readonly trigger: ReactElement<MenuTriggerProps>
  readonly children: ReactNode
  readonly align?: 'start' | 'end'
  readonly side?: 'top' | 'bottom'
}

/** Closes the menu, and then does what was picked: that may open a dialog, which gives the focus back to where it was. */
const PickContext = createContext<(run: () => void) => void>((run) => run())

const itemsOf = (menu: HTMLElement) => [...menu.querySelectorAll<HTMLElement>('[role^=menuitem]:not(:disabled)')]

/** What can be done with something, behind one button. Arrows, Home, End and first letters walk through it. */
export function Menu({ trigger, children, align = 'end', side = 'bottom' }: MenuProps) {
  const popover = usePopover({ side, align }, 'menu')
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const items = itemsOf(event.currentTarget)
    const at = items.findIndex((item) => item.matches(':focus'))
    const next = ringStep(event.key, { at, count: items.length, along: 'lines' }) ?? lettered(items, at, event.key)
    if (next !== undefined) items[next]?.focus()
    else if (event.key === 'Escape') popover.close()
    else if (event.key === 'Tab') return popover.close()
    else return
    event.preventDefault()
  }
  const openByArrow = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    popover.show(event.currentTarget)
  }
  return (
    <>
      {cloneElement(trigger, { ...popover.trigger, onKeyDown: openByArrow })}
      <div {...popover.layer} role="menu" onKeyDown={press} className="layer min-w-48 p-1 outline-none">
        <PickContext
          value={(run) => {
            popover.close()
            queueMicrotask(run)
          }}
        >
          {popover.open && children}
        </PickContext>
      </div>
    </>
  )
}

/** The next whose name begins with the letter. */
function lettered(items: readonly HTMLElement[], at: number, key: string): number | undefined {
  if (key.length !== 1 || key === ' ') return undefined
  const isNamed = (item: HTMLElement | undefined) => item?.textContent.toLowerCase().startsWith(key.toLowerCase())
  const found = items.findIndex((_, step) => isNamed(items[(at + 1 + step) % items.length]))
  return found === -1 ? undefined : (at + 1 + found) % items.length
}

const ITEM =
  'flex min-h-8 w-full items-center gap-2.5 rounded-md px-2 py-1 text-start outline-none focus:bg-hover disabled:cursor-not-allowed disabled:text-faint [&_svg]:size-4 [&_svg]:shrink-0'

/** One thing is marked, whether the pointer or the keys have come to it. */
const mark = ({ currentTarget }: PointerEvent<HTMLElement>) => currentTarget.focus({ preventScroll: true })

interface MenuItemProps {
  readonly icon?: LucideIcon
  readonly tone?: 'plain' | 'danger'
  readonly disabled?: boolean
  readonly onPick: () => void
  readonly children: ReactNode
}

export function MenuItem({ icon: Icon, tone = 'plain', disabled = false, onPick, children }: MenuItemProps) {
  const pick = useContext(PickContext)
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      disabled={disabled}
      onPointerMove={mark}
      onClick={() => pick(onPick)}
      className={cx(ITEM, tone === 'danger' && 'text-bad')}
    >
      {Icon !== undefined && <Icon aria-hidden="true" />}
      {children}
    </button>
  )
}

interface MenuChoiceProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly onPick: (value: Value) => void
}

/** One of a few, inside a menu; it stays open, so that what was picked can be seen. */
export function MenuChoice<Value extends string>({ label, value, options, onPick }: MenuChoiceProps<Value>) {
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a menu has no fieldsets.
    <div role="group" aria-labelledby={id}>
      <div id={id} className="eyebrow px-2 pt-1.5 pb-0.5">
        {label}
      </div>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          role="menuitemradio"
          aria-checked={option.value === value}
          tabIndex={-1}
          onPointerMove={mark}
          onClick={() => onPick(option.value)}
          className={cx(ITEM, 'relative ps-7')}
        >
          {option.value === value && <span className="absolute start-2.5 size-2 rounded-full bg-accent" />}
          {option.label}
        </button>
      ))}
    </div>
  )
}

// biome-ignore lint/a11y/useSemanticElements: in a menu a line has no other element.
export const MenuLine = () => <div role="separator" className="mx-1 my-1 border-t border-line" />
