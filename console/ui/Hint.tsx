import { Tooltip } from 'radix-ui'
import { createContext, type ReactElement, useContext } from 'react'

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

/** Menus and hints hang on the page, or on the dialog that they are in: behind an open dialog nobody could reach them. */
export const LayerContext = createContext<HTMLElement | null>(null)
export const useLayer = (): HTMLElement | null => useContext(LayerContext)
