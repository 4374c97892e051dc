import type { LucideIcon } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { createContext, type ReactElement, type ReactNode, useContext, useRef } from 'react'
import { cx } from '../lib/cx.ts'
import { useLayer } from './Hint.tsx'
import type { Choice } from './inputs.tsx'

interface MenuProps {
  readonly trigger: ReactElement
  readonly children: ReactNode
  readonly align?: 'start' | 'end'
  readonly side?: 'top' | 'bottom'
}

/** Runs the picked action after the menu has closed. */
const PickContext = createContext<(run: () => void) => void>((run) => run())

/** Not modal: a modal menu injects a style to lock scrolling, which the content security policy forbids. */
export function Menu({ trigger, children, align = 'end', side = 'bottom' }: MenuProps) {
  const container = useLayer()
  const picked = useRef<() => void>(undefined)
  // The action may open a dialog, which restores the focus later. That must be the trigger, not an item of the closed
  // menu.
  const runPicked = () => {
    const run = picked.current
    picked.current = undefined
    if (run !== undefined) queueMicrotask(run)
  }
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={container}>
        <DropdownMenu.Content
          loop
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={runPicked}
          className="rise card-shadow z-40 max-h-(--radix-dropdown-menu-content-available-height) min-w-48 overflow-y-auto rounded-lg border border-line bg-surface p-1"
        >
          <PickContext
            value={(run) => {
              picked.current = run
            }}
          >
            {children}
          </PickContext>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

const ITEM =
  'flex min-h-8 cursor-pointer items-center gap-2.5 rounded-md px-2 py-1 outline-none data-[highlighted]:bg-hover data-[disabled]:cursor-not-allowed data-[disabled]:text-faint [&_svg]:size-4 [&_svg]:shrink-0'

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
    <DropdownMenu.Item
      disabled={disabled}
      onSelect={() => pick(onPick)}
      className={cx(ITEM, tone === 'danger' && 'text-bad')}
    >
      {Icon !== undefined && <Icon aria-hidden="true" />}
      {children}
    </DropdownMenu.Item>
  )
}

interface MenuChoiceProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly Choice<Value>[]
  readonly onPick: (value: Value) => void
}

export function MenuChoice<Value extends string>({ label, value, options, onPick }: MenuChoiceProps<Value>) {
  return (
    <DropdownMenu.RadioGroup
      value={value}
      onValueChange={(picked) => {
        const option = options.find((each) => each.value === picked)
        if (option !== undefined) onPick(option.value)
      }}
    >
      <DropdownMenu.Label className="eyebrow px-2 pt-1.5 pb-0.5">{label}</DropdownMenu.Label>
      {options.map((option) => (
        <DropdownMenu.RadioItem
          key={option.value}
          value={option.value}
          onSelect={(event) => event.preventDefault()}
          className={cx(ITEM, 'ps-7 relative')}
        >
          <DropdownMenu.ItemIndicator className="absolute start-2.5 size-2 rounded-full bg-accent" />
          {option.label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  )
}

export const MenuLine = () => <DropdownMenu.Separator className="mx-1 my-1 border-t border-line" />
