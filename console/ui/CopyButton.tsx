import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { asProblem } from '../lib/console-problem.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button, IconButton } from './Button.tsx'
import { toast } from './toast.ts'

const SAYS_SO_MS = 2_000

interface CopyButtonProps {
  readonly text: string
  /** The accessible name: `Copy ID`. */
  readonly label?: string
  readonly look?: 'icon' | 'button'
  readonly onCopied?: (() => void) | undefined
}

export function CopyButton({ text, label, look = 'icon', onCopied }: CopyButtonProps) {
  const { common } = useMessages()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const back = setTimeout(() => setCopied(false), SAYS_SO_MS)
    return () => clearTimeout(back)
  }, [copied])

  const copy = () => {
    // Browsers offer no clipboard on insecure origins.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error(common.copyFailed))
    written.then(
      () => {
        setCopied(true)
        onCopied?.()
      },
      () => toast({ tone: 'bad', problem: asProblem(new Error(common.copyFailed)) }),
    )
  }
  const [icon, name] = [copied ? Check : Copy, copied ? common.copied : (label ?? common.copy)]
  const Icon = icon
  return (
    <>
      {look === 'icon' ? (
        <IconButton icon={icon} label={name} onClick={copy} />
      ) : (
        <Button onClick={copy}>
          <Icon aria-hidden="true" />
          {name}
        </Button>
      )}
      <span aria-live="polite" className="sr-only">
        {copied ? common.copied : ''}
      </span>
    </>
  )
}

interface CodeBlockProps {
  readonly code: string
  readonly label: string
  readonly onCopied?: () => void
}

export function CodeBlock({ code, label, onCopied }: CodeBlockProps) {
  return (
    <figure className="min-w-0 rounded-lg border border-line bg-sunken">
      <figcaption className="flex items-center justify-between gap-2 border-b border-line ps-3 pe-1">
        <span className="eyebrow">{label}</span>
        <CopyButton text={code} onCopied={onCopied} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <pre tabIndex={0} className="overflow-x-auto p-3 text-sm leading-relaxed">
        <code>{code}</code>
      </pre>
    </figure>
  )
}
