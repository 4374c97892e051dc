import { CircleCheck, CircleX, Info, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { IconButton } from './Button.tsx'
import { useProblemText } from './QueryView.tsx'
import { dismissToast, holdToasts, type ShownToast, type Toast, useToasts } from './toast.ts'

const ICONS = { good: CircleCheck, plain: Info, bad: CircleX }
const COLOURS = { good: 'text-good', plain: 'text-accent', bad: 'text-bad' }

const hold = () => holdToasts(true)
const release = () => holdToasts(false)
const HOLDING = { onPointerEnter: hold, onPointerLeave: release, onFocus: hold, onBlur: release }

/** In the browser's top layer, so that no dialog covers it. Each new toast brings it to the front. */
export function Toasts() {
  const toasts = useToasts()
  const { common } = useMessages()
  const region = useRef<HTMLDivElement>(null)
  const newest = toasts.at(-1)?.id

  useEffect(() => {
    const element = region.current
    if (element?.matches(':popover-open')) element.hidePopover()
    if (newest !== undefined) element?.showPopover()
  }, [newest])

  return (
    <>
      <div
        ref={region}
        popover="manual"
        {...HOLDING}
        className="fixed inset-auto end-4 bottom-4 m-0 w-96 max-w-[calc(100vw-2rem)] border-0 bg-transparent p-0"
      >
        <ul aria-label={common.notifications} className="grid gap-2">
          {toasts.map((each) => (
            <ToastCard key={each.id} shown={each} />
          ))}
        </ul>
      </div>
      <div aria-live="polite" className="sr-only">
        {toasts.map((each) => (
          <ToastText key={each.id} toast={each.toast} />
        ))}
      </div>
    </>
  )
}

function ToastCard({ shown: { id, toast } }: { shown: ShownToast }) {
  const { common } = useMessages()
  const Icon = ICONS[toast.tone]
  return (
    <li className="rise card-shadow flex items-start gap-2.5 rounded-lg border border-line bg-surface py-2 ps-3 pe-2">
      <Icon aria-hidden="true" className={`mt-1.5 size-4 shrink-0 ${COLOURS[toast.tone]}`} />
      <div className="min-w-0 flex-1 py-1 break-words">
        <ToastText toast={toast} />
        {toast.tone === 'bad' && toast.problem.requestId !== null && (
          <p className="text-xs text-faint">{common.requestId(toast.problem.requestId)}</p>
        )}
      </div>
      <IconButton icon={X} label={common.dismiss} onClick={() => dismissToast(id)} />
    </li>
  )
}

function ToastText({ toast }: { toast: Toast }) {
  const textOf = useProblemText()
  return <p>{toast.tone === 'bad' ? textOf(toast.problem) : toast.text}</p>
}
