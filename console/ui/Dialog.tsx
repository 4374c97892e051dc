import { useBlocker } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { cx } from '../lib/cx.ts'
import { holdPage } from '../lib/leave-page.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { IconButton } from './Button.tsx'
import { LayerContext } from './Hint.tsx'

interface ModalProps extends Omit<ComponentProps<'dialog'>, 'ref' | 'open' | 'onCancel' | 'onClick' | 'onPointerDown'> {
  /** Called on Esc, on the close button and on a click outside. */
  readonly onClose: () => void
  /**
   * `by-button` for a secret that is shown once: Esc, a click outside, going back and the end of the session do not
   * close it.
   */
  readonly closing?: 'anyhow' | 'by-button'
}

/** A native modal dialog, which traps the focus without injected styles. */
export function Modal({ onClose, closing = 'anyhow', children, ...rest }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const pressedBeside = useRef(false)
  const [layer, setLayer] = useState<HTMLElement | null>(null)
  useStaying(closing === 'by-button')

  useEffect(() => {
    const element = dialog.current
    if (element === null) return
    const before = document.activeElement
    element.showModal()
    // Focus the title by default: a focused button shows its hint, which swallows the first Esc.
    const first = element.querySelector<HTMLElement>('[data-autofocus]') ?? element.querySelector('h2')
    first?.focus()
    setLayer(element)
    return () => {
      element.close()
      // A removed dialog does not restore the focus by itself.
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc does the same, as `onCancel`.
    <dialog
      {...rest}
      ref={dialog}
      onCancel={(event) => {
        event.preventDefault()
        if (closing === 'anyhow') onClose()
      }}
      onClose={({ currentTarget }) => {
        if (currentTarget.open) return
        // A second Esc closes the dialog without a cancel event.
        if (closing === 'anyhow') onClose()
        else currentTarget.showModal()
      }}
      // A press that started inside the dialog is a text selection.
      onPointerDown={(event) => {
        pressedBeside.current = event.target === event.currentTarget
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget && pressedBeside.current && closing === 'anyhow') onClose()
      }}
    >
      <LayerContext value={layer}>{children}</LayerContext>
    </dialog>
  )
}

const always = () => true

/** Blocks going back, closing the tab and the end of the session. */
function useStaying(isStaying: boolean): void {
  useBlocker({ shouldBlockFn: always, enableBeforeUnload: true, disabled: !isStaying })
  useEffect(() => (isStaying ? holdPage() : undefined), [isStaying])
}

interface DialogProps extends Pick<ModalProps, 'onClose' | 'closing'> {
  readonly title: string
  readonly open: boolean
  readonly children: ReactNode
  readonly width?: 'narrow' | 'wide'
}

export function Dialog({ title, open, onClose, children, width = 'narrow', closing = 'anyhow' }: DialogProps) {
  const { common } = useMessages()
  const id = useId()
  if (!open) return null
  return (
    <Modal
      aria-labelledby={`${id}-title`}
      onClose={onClose}
      closing={closing}
      className={cx(
        'rise card-shadow max-h-[calc(100dvb-2rem)] w-[calc(100vw-1.5rem)] overflow-y-auto overscroll-contain rounded-xl border border-line bg-surface p-0',
        width === 'narrow' ? 'max-w-md' : 'max-w-2xl',
      )}
    >
      <div className="grid grid-cols-1 gap-4 p-5">
        <header className="flex items-start justify-between gap-3">
          <h2 id={`${id}-title`} tabIndex={-1} className="pt-1 text-lg leading-tight font-semibold">
            {title}
          </h2>
          {closing === 'anyhow' && <IconButton icon={X} label={common.close} onClick={onClose} className="-me-1.5" />}
        </header>
        {children}
      </div>
    </Modal>
  )
}

export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="flex flex-wrap justify-end gap-2 pt-1">{children}</div>
)
