"""Reads documents with Python's XML parser, and says what is in them: one JSON value a line comes in, one goes out.

A document that is not well-formed is an error. So is text between elements.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree


def read(element: ElementTree.Element) -> dict[str, object]:
    children = [read(child) for child in element]
    texts = [element.text or ""] + [child.tail or "" for child in element]
    if children and "".join(texts).strip():
        raise ValueError(f"text beside elements in {element.tag}: {texts}")
    return {"tag": element.tag, "attributes": element.attrib, "children": children, "text": "" if children else texts[0]}


for line in sys.stdin:
    document = json.loads(line)
    print(json.dumps(read(ElementTree.fromstring(document.encode()))))
