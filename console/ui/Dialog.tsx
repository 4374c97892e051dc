import { useBlocker } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { cx } from '../lib/cx.ts'
import { holdPage } from '../lib/leave-page.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { IconButton } from './Button.tsx'
import { LayerContext } from './Hint.tsx'

interface ModalProps extends Omit<ComponentProps<'dialog'>, 'ref' | 'open' | 'onCancel' | 'onClick' | 'onPointerDown'> {
  /** Esc, the cross, a click beside it. */
  readonly onClose: () => void
  /** For what must not vanish by a slip, by going back or with its session: a secret that is shown once, or is being made. */
  readonly closing?: 'anyhow' | 'by-button'
}

/** A native modal dialog: the browser keeps the focus inside, and nothing is injected. Shown for as long as it is there. */
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
    // Where nothing asks for the focus, the title has it: a button would show its hint, which then swallows the first Esc.
    const first = element.querySelector<HTMLElement>('[data-autofocus]') ?? element.querySelector('h2')
    first?.focus()
    setLayer(element)
    return () => {
      element.close()
      // Removed from the page, a dialog does not give the focus back by itself.
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
        // Esc once more, and the browser closes it without asking.
        if (closing === 'anyhow') onClose()
        else currentTarget.showModal()
      }}
      // A press that only ends beside the dialog began within: somebody selects what they have typed.
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

/** Nobody is led away from what is shown once: not by going back, not by closing the tab, not by a session that ends. */
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

/** A question or a form in the middle of the page, with a title of its own. */
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

/** The row of buttons at the end of a dialog; the one that does it comes last. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="flex flex-wrap justify-end gap-2 pt-1">{children}</div>
)
