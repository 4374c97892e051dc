import { useFormats } from '../messages/MessagesProvider.tsx'

/** A count that is read at a glance: `12.3k`, the exact one on hover and for whoever listens. */
export function Tokens({ count }: { count: number }) {
  const formats = useFormats()
  return (
    <span title={formats.count(count)} className="figures whitespace-nowrap">
      <span aria-hidden="true">{formats.short(count)}</span>
      <span className="sr-only">{formats.count(count)}</span>
    </span>
  )
}
