import { Radio } from 'lucide-react'
import { memo } from 'react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Empty, Scrolled } from '../../ui/layout.tsx'
import type { RawEvent, Run } from './turn/run-turn.ts'

export function RawEvents({ raw }: { raw: Run['raw'] | undefined }) {
  const { playground } = useMessages()
  const formats = useFormats()
  if (raw === undefined || raw.count === 0) {
    return <Empty icon={Radio} title={playground.rawNone} text={playground.rawNoneText} />
  }
  const { events, count } = raw
  const all =
    events.length === count
      ? formats.plural(count, playground.rawAll)
      : playground.rawSome(formats.count(events.length), formats.count(count))
  return (
    <div className="grid grid-cols-1 gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="figures text-sm text-soft">{all}</p>
        <CopyButton look="button" label={playground.rawCopy} text={events.map(written).join('\n')} />
      </div>
      <Scrolled label={playground.tabs.raw} className="max-h-[32rem] overflow-auto rounded-lg border border-line">
        <ol>
          {events.map((event) => (
            <RawRow key={event.number} event={event} />
          ))}
        </ol>
      </Scrolled>
    </div>
  )
}

const written = ({ event, data }: RawEvent): string =>
  `${event === 'message' ? '' : `event: ${event}\n`}data: ${data}\n`

const RawRow = memo(function RawRow({ event }: { event: RawEvent }) {
  const formats = useFormats()
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 border-b border-line px-3 py-1 text-xs [contain-intrinsic-block-size:auto_1.75rem] [content-visibility:auto] last:border-0">
      <span className="figures min-w-14 text-end text-faint">{formats.duration(event.atMs)}</span>
      <code className="break-all whitespace-pre-wrap">
        {event.event !== 'message' && <span className="me-2 text-accent">{event.event}</span>}
        {event.data}
      </code>
    </li>
  )
})
