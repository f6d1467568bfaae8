/** The calls of the inspector's server, and the shape of its answers. */

const TOKEN = 'hindsight-inspector-token'

/** Keep the token of the page's address for this origin, so that links open in new tabs, and remove it from the address. */
export function keepToken(): void {
  const given = /^#token=([\w-]+)$/.exec(location.hash)
  if (given) {
    localStorage.setItem(TOKEN, given[1])
    history.replaceState(null, '', '#/memories')
  }
}

export type Params = Record<string, string | number | boolean | string[] | undefined | null>

function query(params: Params): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (Array.isArray(value)) for (const each of value) search.append(name, each)
    else if (value !== undefined && value !== null && value !== '' && value !== false) search.set(name, String(value))
  }
  return search.toString()
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const headers = { Authorization: `Bearer ${localStorage.getItem(TOKEN) ?? ''}`, 'Content-Type': 'application/json' }
  let answer: Response
  try {
    answer = await fetch(`/api/${path}`, { ...init, headers })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new Error('The inspector does not answer. Start it again with: hindsight-memory inspect PATH')
  }
  const body = await answer.json().catch(() => ({ detail: `The inspector failed (${answer.status}). See its terminal.` }))
  if (!answer.ok) throw new Error(body.detail)
  return body as T
}

export const get = <T>(call: string, params: Params = {}, signal?: AbortSignal): Promise<T> =>
  ask<T>(`${call}?${query(params)}`, { signal })

export const post = <T>(call: string, bank: string, body: object): Promise<T> =>
  ask<T>(`${call}?${query({ bank })}`, { method: 'POST', body: JSON.stringify(body) })

export type Network = 'world' | 'experience' | 'opinion' | 'observation'
export const NETWORKS: Network[] = ['world', 'experience', 'opinion', 'observation']
export const CHANNELS = { semantic: 'meaning', keyword: 'words', graph: 'graph', temporal: 'time' } as const
export type Channel = keyof typeof CHANNELS
export type Hits = Partial<Record<Channel, { rank: number; score: number }>>

export interface Event {
  kind: 'closed' | 'restored'
  at: string
  by: string | null
  by_text: string | null
  reason: string
}
export interface Memory {
  id: string
  text: string
  fact_type: Network
  kind: string
  occurred_start: string | null
  occurred_end: string | null
  mentioned_at: string
  closed_at: string | null
  confidence: number | null
  speaker: string
  context: string
  thread: string
  document_id: string | null
  sources: string[]
  tags: string[]
  metadata: Record<string, unknown>
  replaced_by?: Event | null
}
export interface Found extends Memory {
  rank: number
  score: number
  when: string
  entities: string[]
  valid: boolean
  reason: string
  channels: Hits
}
export interface Span {
  start: string
  end: string
}
export interface Page {
  memories: Memory[]
  total: number
  cursor: string | null
  damaged: string[]
}
export interface Search {
  memories: Found[]
  window: Span | null
  confidence: number
  notes: string[]
  milliseconds: number
}
export interface Entity {
  id: string
  name: string
  type: string
  names: string[]
  mentions: number
  last_seen: string | null
}
export interface RecordRow {
  kind: string
  category: string
  value: string
  unit: string
  at: string
  closed_at: string | null
  text: string
  id: string
}
export interface OpinionRow {
  id: string
  text: string
  confidence: number
  strength: string
  formed_at: string
  reworded_at: string | null
  closed_at: string | null
  evidence: number
  entities: string[]
  origin: string
}
export interface Link {
  source: string
  target: string
  type: 'temporal' | 'semantic' | 'causal'
  relation: string | null
  weight: number
}
export interface Details {
  memory: Memory & { lasting: boolean; tokens: number; part_of: string | null }
  records: { kind: string; value: string; unit: string; category: string }[]
  items: Memory[]
  history: Event[]
  edits: { at: string; fields: string[] }[]
  sources: { thread: string; message: string; speaker: string; role: string; text: string; at: string }[]
  links: { type: Link['type']; relation: string | null; weight: number; id: string; text: string; closed_at: string | null }[]
  entities: Entity[]
  opinions: (OpinionRow & { role: string })[]
}
export interface Overview {
  memories: number
  invalid: number
  types: Partial<Record<Network, number>>
  tags: [string, number][]
  first: string | null
  last: string | null
}
export interface Start {
  place: string
  write: boolean
  banks: { name: string; memories: number; revision: number; latest: string | null }[]
  tasks: { waiting: number; dead: number }
}
