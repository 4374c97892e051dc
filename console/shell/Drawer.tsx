import { type ReactNode, useEffect, useRef, useState } from 'react'
import { LayerContext } from '../ui/layer.ts'

interface DrawerProps {
  readonly label: string
  readonly open: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The sidebar of small screens: a dialog along the edge. */
export function Drawer(props: DrawerProps) {
  return props.open ? <OpenDrawer {...props} /> : null
}

function OpenDrawer({ label, onClose, children }: DrawerProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [layer, setLayer] = useState<HTMLElement | null>(null)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    setLayer(element)
    return () => element?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc does the same, as `onCancel`.
    <dialog
      ref={dialog}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
      className="rise ms-0 me-auto my-0 h-dvh max-h-none w-72 max-w-[85vw] overflow-y-auto overscroll-contain border-e border-line bg-paper p-0"
    >
      <div className="flex min-h-full flex-col gap-4 p-3">
        <LayerContext value={layer}>{children}</LayerContext>
      </div>
    </dialog>
  )
}
