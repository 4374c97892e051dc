import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'

interface TabsProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly onPick: (value: Value) => void
  readonly tabs: readonly { readonly value: Value; readonly label: string; readonly content: ReactNode }[]
}

export function Tabs<Value extends string>({ label, value, onPick, tabs }: TabsProps<Value>) {
  return (
    <Radix.Root
      value={value}
      onValueChange={(picked) => {
        const tab = tabs.find((each) => each.value === picked)
        if (tab !== undefined) onPick(tab.value)
      }}
    >
      <Radix.List aria-label={label} className="flex gap-4 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px min-h-9 border-b-2 border-transparent px-0.5 font-medium whitespace-nowrap text-soft hover:text-ink focus-visible:outline-offset-[-2px] data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="pt-4">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}
