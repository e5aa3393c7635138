// The run at hand as a program of its own: each can be pasted and runs.
export type Kind = 'curl' | 'Python' | 'JavaScript' | 'Go' | 'PHP';

export interface Call {
  url: string;
  username: string;
  dev: boolean;
  body: Record<string, unknown>;
}

const shell = (s: string) => "'" + s.replaceAll("'", `'\\''`) + "'";

/** The call as a program in a language. The password is taken from QL_PASSWORD where there is one to keep. */
export function copyAs(kind: Kind, c: Call): string {
  const name = c.dev ? 'dev' : c.username;
  const url = c.url + '/v1/query';
  const json = (auth: unknown, indent?: number) => JSON.stringify({ auth, ...c.body }, null, indent);
  const fixed = json({ username: name, password: 'dev' });
  const marker = '@@password@@';
  const open = json({ username: name, password: marker });
  switch (kind) {
    case 'curl':
      if (c.dev) return `curl ${shell(url)} -H 'Content-Type: application/json' -d ${shell(fixed)}\n`;
      return `curl ${shell(url)} -H 'Content-Type: application/json' -d ${shell(open).replace(marker, () => `'"$(printf %s "$QL_PASSWORD" | sed 's/["\\\\]/\\\\&/g')"'`)}\n`;
    case 'Python': {
      const body = c.dev ? `json.loads(${JSON.stringify(fixed)})` : `json.loads(${JSON.stringify(open)})`;
      const set = c.dev ? '' : `call["auth"]["password"] = os.environ["QL_PASSWORD"]\n`;
      return `import json\nimport os\nimport urllib.error\nimport urllib.request\n\ncall = ${body}\n${set}request = urllib.request.Request(${JSON.stringify(url)}, json.dumps(call).encode(), {"Content-Type": "application/json"})\ntry:\n    answer = json.load(urllib.request.urlopen(request))\nexcept urllib.error.HTTPError as e:\n    answer = json.load(e)\nprint(answer.get("result", answer))\n`;
    }
    case 'JavaScript': {
      const set = c.dev ? '' : `call.auth.password = process.env.QL_PASSWORD;\n`;
      return `const call = ${json({ username: name, password: c.dev ? 'dev' : '' }, 2)};\n${set}const response = await fetch(${JSON.stringify(url)}, {\n  method: "POST",\n  headers: { "Content-Type": "application/json" },\n  body: JSON.stringify(call),\n});\nconst answer = await response.json();\nconsole.log(answer.result ?? answer);\n`;
    }
    case 'Go': {
      const text = JSON.stringify(c.dev ? fixed : open);
      const body = c.dev ? `strings.NewReader(${text})` : `strings.NewReader(strings.Replace(${text}, ${JSON.stringify(JSON.stringify(marker))}, string(password), 1))`;
      const set = c.dev ? '' : '\tpassword, err := json.Marshal(os.Getenv("QL_PASSWORD"))\n\tif err != nil {\n\t\tpanic(err)\n\t}\n';
      return `package main\n\nimport (\n${c.dev ? '' : '\t"encoding/json"\n'}\t"fmt"\n\t"io"\n\t"net/http"\n${c.dev ? '' : '\t"os"\n'}\t"strings"\n)\n\nfunc main() {\n${set}\tanswer, err := http.Post(${JSON.stringify(url)}, "application/json", ${body})\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tdefer answer.Body.Close()\n\ttext, err := io.ReadAll(answer.Body)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tfmt.Println(string(text))\n}\n`;
    }
    case 'PHP': {
      const quoted = (s: string) => "'" + s.replaceAll('\\', '\\\\').replaceAll("'", "\\'") + "'";
      const set = c.dev ? '' : `$call['auth']['password'] = getenv('QL_PASSWORD');\n`;
      return `<?php\n$call = json_decode(${quoted(c.dev ? fixed : open)}, true);\n${set}$answer = file_get_contents(${quoted(url)}, false, stream_context_create(['http' => [\n    'method' => 'POST',\n    'header' => 'Content-Type: application/json',\n    'content' => json_encode($call),\n    'ignore_errors' => true,\n]]));\n$answer = json_decode($answer, true);\necho $answer['result'] ?? json_encode($answer), "\\n";\n`;
    }
  }
}
