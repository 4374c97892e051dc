import { Tooltip } from 'radix-ui'
import { createContext, type ReactElement, useContext } from 'react'

/** A tooltip. It must not be the only place for an information. */
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

/** The container of menus and hints: the page or the open dialog. Behind a dialog they would be unreachable. */
export const LayerContext = createContext<HTMLElement | null>(null)
export const useLayer = (): HTMLElement | null => useContext(LayerContext)
