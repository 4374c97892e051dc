import { cloneElement, type KeyboardEvent, type ReactElement, type ReactNode } from 'react'
import { type TriggerProps, usePopover } from './usePopover.ts'

interface PopoverProps {
  readonly trigger: ReactElement<TriggerProps>
  readonly label: string
  readonly children: ReactNode
}

/** More about something, where it stands, with room for links and buttons. */
export function Popover({ trigger, label, children }: PopoverProps) {
  const popover = usePopover({ side: 'bottom', align: 'center' }, 'dialog')
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    popover.close()
  }
  return (
    <>
      {cloneElement(trigger, popover.trigger)}
      <div {...popover.layer} role="dialog" aria-label={label} onKeyDown={press} className="layer max-w-sm p-3">
        {popover.open && children}
      </div>
    </>
  )
}
