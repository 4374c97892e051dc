import { ArrowUp, Pause, Play } from 'lucide-react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { Button } from '../../ui/Button.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

interface FollowBarProps {
  readonly following: boolean
  readonly waiting: number
  readonly onFollow: (following: boolean) => void
  readonly onTakeIn: () => void
}

/** Whether the list goes on by itself, and how many new rows wait because somebody reads. It keeps its height: nothing jumps. */
export function FollowBar({ following, waiting, onFollow, onTakeIn }: FollowBarProps) {
  const { requests } = useWords()
  const formats = useFormats()
  const toggle = () => onFollow(!following)
  const label = following ? requests.pause : requests.follow
  useLetterKey('f', label, toggle)
  const Icon = following ? Pause : Play
  return (
    <div className="flex min-h-12 items-center justify-between gap-3 border-b border-line px-4">
      <span className="flex items-center gap-2 text-sm text-soft">
        <span
          aria-hidden="true"
          className={following ? 'breathe size-2 rounded-full bg-good' : 'size-2 rounded-full bg-edge'}
        />
        {following ? requests.live : requests.paused}
      </span>
      <span className="flex items-center gap-2">
        {waiting > 0 && (
          <Button onClick={onTakeIn}>
            <ArrowUp aria-hidden="true" />
            {formats.plural(waiting, requests.fresh)}
          </Button>
        )}
        <Button tone="quiet" onClick={toggle} aria-pressed={!following}>
          <Icon aria-hidden="true" />
          {label}
        </Button>
      </span>
    </div>
  )
}
