import { type KeyboardEvent, type ReactNode, useId } from 'react'
import { ringStep } from '../lib/ring-step.ts'
import { directionOf } from './keep-beside.ts'

interface TabsProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly onPick: (value: Value) => void
  readonly tabs: readonly { readonly value: Value; readonly label: string; readonly content: ReactNode }[]
}

/** One of a few views of the same thing. The tab key stops at the one that is shown; arrows lead to the others and show them. */
export function Tabs<Value extends string>({ label, value, onPick, tabs }: TabsProps<Value>) {
  const id = useId()
  const at = tabs.findIndex((tab) => tab.value === value)
  const shown = tabs[at]
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const ring = { at, count: tabs.length, along: 'row' } as const
    const next = ringStep(event.key, { ...ring, direction: directionOf(event.currentTarget) })
    const tab = next === undefined ? undefined : tabs[next]
    if (tab === undefined || next === undefined) return
    event.preventDefault()
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
    onPick(tab.value)
  }
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        tabIndex={-1}
        onKeyDown={press}
        className="flex gap-4 overflow-x-auto border-b border-line"
      >
        {tabs.map((tab) => (
          <button
            key={tab.value}
            type="button"
            role="tab"
            id={`${id}-${tab.value}`}
            aria-selected={tab === shown}
            aria-controls={tab === shown ? `${id}-panel` : undefined}
            tabIndex={tab === shown ? 0 : -1}
            onClick={() => onPick(tab.value)}
            className="-mb-px min-h-9 border-b-2 border-transparent px-0.5 font-medium whitespace-nowrap text-soft hover:text-ink focus-visible:outline-offset-[-2px] aria-selected:border-accent aria-selected:text-ink"
          >
            {tab.label}
          </button>
        ))}
      </div>
      {shown !== undefined && (
        <div
          key={value}
          role="tabpanel"
          id={`${id}-panel`}
          aria-labelledby={`${id}-${value}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: so the keyboard comes from a tab to what it shows.
          tabIndex={0}
          className="pt-4"
        >
          {shown.content}
        </div>
      )}
    </>
  )
}
