import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useId, useSyncExternalStore } from 'react'
import { cx } from '../lib/cx.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'

export const Page = ({ children }: { children: ReactNode }) => (
  <div className="grid grid-cols-1 content-start gap-5">{children}</div>
)

interface PageHeaderProps {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
}

/** The h1 and the title of the page. */
export function PageHeader({ title, about, actions }: PageHeaderProps) {
  const { common } = useMessages()
  return (
    <header className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <title>{`${title} · ${common.product}`}</title>
      <div className="grid min-w-0 gap-0.5">
        <h1 className="text-2xl leading-tight font-semibold tracking-tight wrap-anywhere">{title}</h1>
        {about !== undefined && <p className="max-w-2xl text-soft">{about}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}

interface PanelProps {
  readonly title?: string
  readonly about?: string
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** `flush`: the content reaches the edges, as tables do. */
  readonly padding?: 'inside' | 'flush'
}

export function Panel({ title, about, actions, children, padding = 'inside' }: PanelProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className="min-w-0 rounded-xl border border-line bg-surface"
    >
      {title !== undefined && (
        <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 pt-3 pb-1">
          <div className="min-w-0">
            <h2 id={id} className="text-lg font-semibold">
              {title}
            </h2>
            {about !== undefined && <p className="text-sm text-faint">{about}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div
        className={cx(
          padding === 'inside' ? 'px-4 pt-2 pb-4' : 'pb-1',
          title === undefined && padding === 'inside' && 'pt-4',
        )}
      >
        {children}
      </div>
    </section>
  )
}

interface EmptyProps {
  readonly icon?: LucideIcon
  readonly title: string
  readonly text?: ReactNode
  readonly action?: ReactNode
}

export const Empty = ({ icon: Icon, title, text, action }: EmptyProps) => (
  <div className="grid justify-items-center gap-1.5 px-4 py-10 text-center">
    {Icon !== undefined && (
      <span className="mb-1 grid size-11 place-items-center rounded-full bg-accent-wash text-accent">
        <Icon aria-hidden="true" className="size-5" />
      </span>
    )}
    <p className="font-semibold">{title}</p>
    {text !== undefined && <p className="max-w-md text-soft">{text}</p>}
    {action !== undefined && <div className="mt-3">{action}</div>}
  </div>
)

interface FactsProps {
  readonly facts: readonly { readonly name: string; readonly value: ReactNode }[]
}

export const Facts = ({ facts }: FactsProps) => (
  <dl className="grid gap-y-1.5 text-sm">
    {facts.map(({ name, value }) => (
      <div key={name} className="flex min-w-0 flex-wrap justify-between gap-x-4">
        <dt className="text-faint">{name}</dt>
        <dd className="ms-auto min-w-0 text-end break-words">{value}</dd>
      </div>
    ))}
  </dl>
)

interface StatTileProps {
  readonly label: string
  readonly value: ReactNode
  readonly note?: ReactNode
  readonly children?: ReactNode
}

/** Figures side by side. The first one matters most and is the largest. */
export const StatRow = ({ children }: { children: ReactNode }) => (
  <div className="stat-row grid grid-cols-2 gap-x-8 gap-y-4 border-b border-line pb-5 lg:flex">{children}</div>
)

/** A figure with its label and a note. */
export const StatTile = ({ label, value, note, children }: StatTileProps) => (
  <div className="grid min-w-0 grid-cols-1 content-start gap-0.5">
    <div className="text-sm text-soft">{label}</div>
    <div className="stat-value figures text-xl leading-9 font-semibold tracking-tight">{value}</div>
    {note !== undefined && <div className="figures text-xs text-faint">{note}</div>}
    {children}
  </div>
)

interface ExplainedProps {
  readonly title: string
  readonly parts: readonly { readonly id: string; readonly title: string; readonly text: string }[]
}

/** Collapsed help for a page. */
export const Explained = ({ title, parts }: ExplainedProps) => (
  <details className="rounded-xl border border-line bg-surface">
    <summary className="min-h-10 px-4 py-2.5 font-semibold select-none">{title}</summary>
    <dl className="grid gap-x-8 gap-y-4 px-4 pt-1 pb-4 sm:grid-cols-2">
      {parts.map((part) => (
        <div key={part.id} className="grid content-start gap-0.5">
          <dt className="font-medium">{part.title}</dt>
          <dd className="text-soft">{part.text}</dd>
        </div>
      ))}
    </dl>
  </details>
)

interface ScrolledProps {
  readonly label: string
  readonly className: string
  readonly children: ReactNode
}

/** A scrolling region. It is focusable, so that keyboard users can scroll it. */
export const Scrolled = ({ label, className, children }: ScrolledProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
  <section tabIndex={0} aria-label={label} className={className}>
    {children}
  </section>
)

export type BadgeTone = 'plain' | 'accent' | 'good' | 'held' | 'bad'

const TONES: Readonly<Record<BadgeTone, string>> = {
  plain: 'bg-sunken text-soft',
  accent: 'bg-accent-wash text-accent',
  good: 'bg-good-wash text-good',
  held: 'bg-held-wash text-held',
  bad: 'bg-bad-wash text-bad',
}

/** A status label. The colour only repeats the text. */
export const Badge = ({ tone = 'plain', children }: { tone?: BadgeTone; children: ReactNode }) => (
  <span
    className={cx(
      'inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
      TONES[tone],
    )}
  >
    {children}
  </span>
)

const QUERY = '(max-width: 47.99rem)'

function subscribe(listener: () => void): () => void {
  const media = matchMedia(QUERY)
  media.addEventListener('change', listener)
  return () => media.removeEventListener('change', listener)
}

/** True if the window is too narrow for tables: a phone, or a desktop at 200 %. */
export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => matchMedia(QUERY).matches)
