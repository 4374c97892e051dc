import { Tooltip } from 'radix-ui'
import type { ReactElement } from 'react'
import { useLayer } from './layer.ts'

/** A few words about its child, on hover and on focus. Never the only place where something is said. */
export function Hint({ text, children }: { text: string; children: ReactElement }) {
  const container = useLayer()
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal container={container}>
        <Tooltip.Content
          sideOffset={6}
          collisionPadding={8}
          className="rise z-50 max-w-xs rounded-md bg-ink px-2 py-1 text-xs text-paper"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
