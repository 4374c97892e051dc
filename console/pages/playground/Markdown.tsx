import { Fragment, memo, type ReactNode } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { CodeBlock } from '../../ui/CopyButton.tsx'
import { Scrolled } from '../../ui/layout.tsx'
import { type Block, type Inline, readBlocks, readInline } from './read-markdown.ts'

/**
 * The Markdown of an answer as React elements. Markup of the answer never becomes part of the page: HTML stays text, links go
 * only to web and mail addresses, and pictures are links, because loading one would tell its server who reads the answer.
 */
export const Markdown = ({ text }: { text: string }) => (
  <div className="grid min-w-0 gap-3 leading-relaxed break-words">
    {splitBlocks(text).map((source, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: an answer only grows, so a block keeps its place.
      <Source key={index} source={source} />
    ))}
  </div>
)

/** While an answer streams, only its last part changes. */
const Source = memo(function Source({ source }: { source: string }) {
  return <Blocks blocks={readBlocks(source)} />
})

/** Divides at blank lines before a new paragraph, outside of fences. */
function splitBlocks(text: string): string[] {
  const parts: string[] = []
  let part: string[] = []
  let fence: string | undefined
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1]
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
      fence = fence === undefined ? mark : undefined
    const isStart = fence === undefined && part.at(-1)?.trim() === '' && /^[^\s>|\-*+\d]/.test(line)
    if (isStart || (mark !== undefined && fence !== undefined && /^\S/.test(line) && part.at(-1)?.trim() === '')) {
      parts.push(part.join('\n'))
      part = []
    }
    part.push(line)
  }
  return [...parts, part.join('\n')]
}

const Blocks = ({ blocks }: { blocks: readonly Block[] }) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: blocks keep their place.
  blocks.map((block, index) => <BlockView key={index} block={block} />)

const HEADINGS = ['', 'text-xl', 'text-lg', 'text-base']

function BlockView({ block }: { block: Block }) {
  const { playground } = useMessages()
  switch (block.kind) {
    case 'heading':
      return (
        <h3 className={`font-semibold ${HEADINGS[Math.min(block.level, 3)]}`}>
          <Text text={block.text} />
        </h3>
      )
    case 'paragraph':
      return (
        <p className="whitespace-pre-wrap">
          <Text text={block.text} />
        </p>
      )
    case 'code':
      return <CodeBlock label={block.language === '' ? playground.code : block.language} code={block.code} />
    case 'quote':
      return (
        <blockquote className="grid gap-3 border-s-2 border-line ps-3 text-soft">
          <Blocks blocks={block.blocks} />
        </blockquote>
      )
    case 'list': {
      const List = block.start === undefined ? 'ul' : 'ol'
      return (
        <List
          start={block.start}
          className={`grid gap-1 ps-6 marker:text-faint ${block.start === undefined ? 'list-disc' : 'list-decimal'}`}
        >
          {block.items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: items keep their place.
            <li key={index}>
              <div className="grid min-w-0 gap-1.5">
                <Blocks blocks={item} />
              </div>
            </li>
          ))}
        </List>
      )
    }
    case 'table':
      return <Table {...block} />
    case 'line':
      return <hr className="border-line" />
  }
}

function Table({ head, rows }: Extract<Block, { kind: 'table' }>) {
  const { playground } = useMessages()
  return (
    <Scrolled label={playground.table} className="overflow-x-auto rounded-lg border border-line">
      <table className="w-full text-sm">
        <thead className="bg-sunken">
          <tr>
            {head.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells keep their place.
              <th key={index} scope="col" className="px-3 py-1.5 text-start font-medium">
                <Text text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows keep their place.
            <tr key={at} className="border-t border-line">
              {row.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells keep their place.
                <td key={index} className="px-3 py-1.5 align-top">
                  <Text text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}

const Text = ({ text }: { text: string }) => <Inlines parts={readInline(text)} />

const Inlines = ({ parts }: { parts: readonly Inline[] }) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: parts keep their place.
  parts.map((part, index) => <Fragment key={index}>{inlineOf(part)}</Fragment>)

function inlineOf(part: Inline): ReactNode {
  switch (part.kind) {
    case 'text':
      return part.text
    case 'code':
      return <code className="rounded bg-sunken px-1 py-0.5 text-[0.9em]">{part.text}</code>
    case 'strong':
      return (
        <strong>
          <Inlines parts={part.parts} />
        </strong>
      )
    case 'emphasis':
      return (
        <em>
          <Inlines parts={part.parts} />
        </em>
      )
    case 'deleted':
      return (
        <del>
          <Inlines parts={part.parts} />
        </del>
      )
    case 'link':
      return (
        <a href={part.address} target="_blank" rel="noopener noreferrer" className="text-accent underline">
          <Inlines parts={part.parts} />
        </a>
      )
  }
}
