import { ArrowUp, Pause, Play } from 'lucide-react'
import { useRef } from 'react'
import { useLetterKey } from '../../../lib/letter-keys.ts'
import { Button } from '../../../ui/Button.tsx'
import { READ } from '../../../ui/useIsRead.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'

interface FollowBarProps {
  readonly following: boolean
  readonly waiting: number
  readonly onFollow: (following: boolean) => void
  readonly onTakeIn: () => void
}

/** Whether the list goes on by itself, and how many new rows wait because somebody reads. It keeps its height: nothing jumps. */
export function FollowBar({ following, waiting, onFollow, onTakeIn }: FollowBarProps) {
  const { requests } = useMessages()
  const formats = useFormats()
  const follow = useRef<HTMLButtonElement>(null)
  const toggle = () => onFollow(!following)
  const label = following ? requests.pause : requests.follow
  useLetterKey('f', label, toggle)
  // The button goes once it is pressed; whoever had the focus on it goes on beside it, and not at the top of the page.
  const takeIn = () => {
    follow.current?.focus()
    onTakeIn()
  }
  const Icon = following ? Pause : Play
  return (
    <div className="flex min-h-12 items-center justify-between gap-3 border-b border-line px-4">
      <span className="flex items-center gap-2 text-sm text-soft">
        <span
          aria-hidden="true"
          className={following ? 'breathe size-2 rounded-full bg-good' : 'size-2 rounded-full bg-edge'}
        />
        {following ? requests.live : requests.paused}
        <Button ref={follow} tone="quiet" onClick={toggle}>
          <Icon aria-hidden="true" />
          {label}
        </Button>
      </span>
      {/* Next to the rows for the tab key, too: the focus comes here from them without leaving what is read. */}
      {waiting > 0 && (
        <Button {...READ} onClick={takeIn}>
          <ArrowUp aria-hidden="true" />
          {formats.plural(waiting, requests.fresh)}
        </Button>
      )}
    </div>
  )
}
