import { Popover as Radix } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'
import { useLayer } from './Hint.tsx'

export function Popover({ trigger, label, children }: { trigger: ReactElement; label: string; children: ReactNode }) {
  const container = useLayer()
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal container={container}>
        <Radix.Content
          aria-label={label}
          sideOffset={6}
          collisionPadding={8}
          className="rise card-shadow z-40 max-w-sm rounded-lg border border-line bg-surface p-3"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
